-- AlterTable
ALTER TABLE "users" ADD COLUMN "two_factor_last_step" INTEGER;

-- CreateTable
CREATE TABLE "password_resets" (
    "user_id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "token_hash" TEXT NOT NULL,
    "created_at" DATETIME NOT NULL,
    CONSTRAINT "password_resets_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "passkeys" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "user_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "credential_id" TEXT NOT NULL,
    "public_key" TEXT NOT NULL,
    "counter" INTEGER NOT NULL DEFAULT 0,
    "transports" TEXT NOT NULL DEFAULT '[]',
    "backed_up" BOOLEAN NOT NULL DEFAULT false,
    "last_used_at" DATETIME,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME NOT NULL,
    CONSTRAINT "passkeys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "passkey_challenges" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "ceremony" TEXT NOT NULL,
    "session_hash" TEXT NOT NULL,
    "user_id" INTEGER,
    "challenge" TEXT NOT NULL,
    "expires_at" DATETIME NOT NULL
);

-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_outbox" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "kind" TEXT NOT NULL,
    "payload" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "available_at" DATETIME NOT NULL,
    "locked_until" DATETIME,
    "failed_at" DATETIME,
    "last_error" TEXT,
    "created_at" DATETIME NOT NULL
);
INSERT INTO "new_outbox" ("attempts", "available_at", "created_at", "id", "kind", "last_error", "locked_until", "payload") SELECT "attempts", "available_at", "created_at", "id", "kind", "last_error", "locked_until", "payload" FROM "outbox";
DROP TABLE "outbox";
ALTER TABLE "new_outbox" RENAME TO "outbox";
CREATE INDEX "outbox_failed_at_available_at_idx" ON "outbox"("failed_at", "available_at");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;

-- CreateIndex
CREATE INDEX "password_resets_created_at_idx" ON "password_resets"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "passkeys_credential_id_key" ON "passkeys"("credential_id");

-- CreateIndex
CREATE INDEX "passkeys_user_id_idx" ON "passkeys"("user_id");

-- CreateIndex
CREATE INDEX "passkey_challenges_session_hash_ceremony_idx" ON "passkey_challenges"("session_hash", "ceremony");

-- CreateIndex
CREATE INDEX "passkey_challenges_expires_at_idx" ON "passkey_challenges"("expires_at");
