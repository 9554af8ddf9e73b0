-- AlterTable
ALTER TABLE "users" ADD COLUMN "passkey_handle" TEXT;

-- CreateIndex
CREATE UNIQUE INDEX "users_passkey_handle_key" ON "users"("passkey_handle");
