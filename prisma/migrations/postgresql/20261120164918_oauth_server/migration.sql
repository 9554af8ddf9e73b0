-- CreateTable
CREATE TABLE "oauth_records" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "payload" TEXT NOT NULL,
    "grant_hash" TEXT,
    "code_hash" TEXT,
    "uid_hash" TEXT,
    "user_id" BIGINT,
    "session_id" TEXT,
    "consumed_at" BIGINT,
    "expires_at" BIGINT,

    CONSTRAINT "oauth_records_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_denials" (
    "id" TEXT NOT NULL,
    "expires_at" BIGINT NOT NULL,

    CONSTRAINT "oauth_denials_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_consents" (
    "user_id" BIGINT NOT NULL,
    "client_id" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "oauth_consents_pkey" PRIMARY KEY ("user_id","client_id","scope")
);

-- CreateTable
CREATE TABLE "oauth_personal_tokens" (
    "id" TEXT NOT NULL,
    "user_id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "scopes" TEXT NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "oauth_personal_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_keys" (
    "id" TEXT NOT NULL,
    "algorithm" TEXT NOT NULL,
    "private_key" TEXT NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,
    "signs_from" TIMESTAMP(3) NOT NULL,
    "retired_at" TIMESTAMP(3),

    CONSTRAINT "oauth_keys_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "oauth_records_grant_hash_idx" ON "oauth_records"("grant_hash");

-- CreateIndex
CREATE INDEX "oauth_records_code_hash_idx" ON "oauth_records"("code_hash");

-- CreateIndex
CREATE INDEX "oauth_records_uid_hash_idx" ON "oauth_records"("uid_hash");

-- CreateIndex
CREATE INDEX "oauth_records_user_id_kind_idx" ON "oauth_records"("user_id", "kind");

-- CreateIndex
CREATE INDEX "oauth_records_session_id_idx" ON "oauth_records"("session_id");

-- CreateIndex
CREATE INDEX "oauth_records_expires_at_idx" ON "oauth_records"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_denials_expires_at_idx" ON "oauth_denials"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_personal_tokens_user_id_idx" ON "oauth_personal_tokens"("user_id");

-- CreateIndex
CREATE INDEX "oauth_personal_tokens_expires_at_idx" ON "oauth_personal_tokens"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_keys_algorithm_signs_from_idx" ON "oauth_keys"("algorithm", "signs_from");

-- AddForeignKey
ALTER TABLE "oauth_records" ADD CONSTRAINT "oauth_records_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_consents" ADD CONSTRAINT "oauth_consents_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_personal_tokens" ADD CONSTRAINT "oauth_personal_tokens_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
