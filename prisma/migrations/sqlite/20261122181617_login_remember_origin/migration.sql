-- AlterTable
ALTER TABLE "remember_tokens" ADD COLUMN "ip_address" TEXT;
ALTER TABLE "remember_tokens" ADD COLUMN "user_agent" TEXT;
