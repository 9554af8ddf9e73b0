-- AlterTable
ALTER TABLE "invitations" ADD COLUMN     "inviter" TEXT;
