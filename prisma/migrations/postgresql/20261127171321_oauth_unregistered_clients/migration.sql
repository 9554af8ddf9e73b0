-- Oldest version: 0.1.0
-- CreateTable
CREATE TABLE "oauth_client_documents" (
    "id" TEXT NOT NULL,
    "document" TEXT NOT NULL,
    "fetched_at" BIGINT NOT NULL,
    "fresh_until" BIGINT NOT NULL,
    "used_at" BIGINT,
    "expires_at" BIGINT NOT NULL,

    CONSTRAINT "oauth_client_documents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_blocked_hosts" (
    "id" TEXT NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "oauth_blocked_hosts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_delegations" (
    "user_id" BIGINT NOT NULL,
    "client_id" TEXT NOT NULL,
    "scopes" TEXT NOT NULL,
    "created_at" BIGINT NOT NULL,
    "used_at" BIGINT NOT NULL,
    "ended_at" BIGINT,
    "valid_from" BIGINT NOT NULL,

    CONSTRAINT "oauth_delegations_pkey" PRIMARY KEY ("user_id","client_id")
);

-- CreateTable
CREATE TABLE "oauth_secret_uses" (
    "id" TEXT NOT NULL,
    "used_at" BIGINT NOT NULL,

    CONSTRAINT "oauth_secret_uses_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "oauth_client_documents_used_at_idx" ON "oauth_client_documents"("used_at");

-- CreateIndex
CREATE INDEX "oauth_client_documents_expires_at_idx" ON "oauth_client_documents"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_secret_uses_used_at_idx" ON "oauth_secret_uses"("used_at");

-- AddForeignKey
ALTER TABLE "oauth_delegations" ADD CONSTRAINT "oauth_delegations_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
