-- Oldest version: 0.1.0
-- CreateTable
CREATE TABLE "oauth_client_documents" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "document" TEXT NOT NULL,
    "fetched_at" INTEGER NOT NULL,
    "fresh_until" INTEGER NOT NULL,
    "used_at" INTEGER,
    "expires_at" INTEGER NOT NULL
);

-- CreateTable
CREATE TABLE "oauth_blocked_hosts" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "created_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "oauth_delegations" (
    "user_id" INTEGER NOT NULL,
    "client_id" TEXT NOT NULL,
    "scopes" TEXT NOT NULL,
    "created_at" INTEGER NOT NULL,
    "used_at" INTEGER NOT NULL,
    "ended_at" INTEGER,
    "valid_from" INTEGER NOT NULL,

    PRIMARY KEY ("user_id", "client_id"),
    CONSTRAINT "oauth_delegations_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "oauth_secret_uses" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "used_at" INTEGER NOT NULL
);

-- CreateIndex
CREATE INDEX "oauth_client_documents_used_at_idx" ON "oauth_client_documents"("used_at");

-- CreateIndex
CREATE INDEX "oauth_client_documents_expires_at_idx" ON "oauth_client_documents"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_secret_uses_used_at_idx" ON "oauth_secret_uses"("used_at");
