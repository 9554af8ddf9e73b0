-- Oldest version: 0.1.0
-- CreateTable
CREATE TABLE "password_resets" (
    "user_id" BIGINT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "password_resets_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "config_snapshots" (
    "id" TEXT NOT NULL,
    "settings" TEXT NOT NULL,
    "applied_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "config_snapshots_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sessions" (
    "id" TEXT NOT NULL,
    "public_id" TEXT NOT NULL,
    "user_id" BIGINT,
    "remember_token_id" BIGINT,
    "password_mark" TEXT,
    "data" TEXT NOT NULL DEFAULT '{}',
    "ip_address" TEXT,
    "user_agent" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "last_seen_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "remember_tokens" (
    "id" BIGSERIAL NOT NULL,
    "user_id" BIGINT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "previous_hash" TEXT,
    "password_mark" TEXT,
    "ip_address" TEXT,
    "user_agent" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "last_used_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "remember_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "used_once" (
    "id" TEXT NOT NULL,
    "expires_at" BIGINT NOT NULL,

    CONSTRAINT "used_once_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "login_limits" (
    "key" TEXT NOT NULL,
    "failures" INTEGER NOT NULL,
    "resets_at" BIGINT NOT NULL,
    "blocked_until" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "login_limits_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "login_codes" (
    "id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "mac" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "remember" BOOLEAN NOT NULL,
    "return_to" TEXT,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "login_codes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "id" TEXT NOT NULL,
    "request" TEXT NOT NULL,
    "record" BIGINT NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_records" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "payload" TEXT NOT NULL,
    "grant_hash" TEXT,
    "code_hash" TEXT,
    "uid_hash" TEXT,
    "parent_hash" TEXT,
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
CREATE TABLE "oauth_status_entries" (
    "list" INTEGER NOT NULL,
    "idx" INTEGER NOT NULL,
    "claims" TEXT NOT NULL,
    "expires_at" BIGINT NOT NULL,

    CONSTRAINT "oauth_status_entries_pkey" PRIMARY KEY ("list","idx")
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

-- CreateTable
CREATE TABLE "passkeys" (
    "id" BIGSERIAL NOT NULL,
    "user_id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "credential_id" TEXT NOT NULL,
    "public_key" TEXT NOT NULL,
    "counter" BIGINT NOT NULL DEFAULT 0,
    "transports" TEXT NOT NULL DEFAULT '[]',
    "backed_up" BOOLEAN NOT NULL DEFAULT false,
    "last_used_at" TIMESTAMP(3),
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "passkeys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "passkey_challenges" (
    "id" BIGSERIAL NOT NULL,
    "ceremony" TEXT NOT NULL,
    "session_hash" TEXT NOT NULL,
    "user_id" BIGINT,
    "challenge" TEXT NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "passkey_challenges_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sample_servers" (
    "id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "user_id" BIGINT NOT NULL,

    CONSTRAINT "sample_servers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sample_tasks" (
    "id" BIGSERIAL NOT NULL,
    "title" TEXT NOT NULL,
    "user_id" BIGINT,

    CONSTRAINT "sample_tasks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "social_accounts" (
    "id" BIGSERIAL NOT NULL,
    "user_id" BIGINT NOT NULL,
    "provider" TEXT NOT NULL,
    "issuer" TEXT NOT NULL DEFAULT '',
    "provider_id" TEXT NOT NULL,
    "email" TEXT,
    "name" TEXT,
    "avatar" TEXT,
    "tokens" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "last_used_at" TIMESTAMP(3),

    CONSTRAINT "social_accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "personal_access_tokens" (
    "id" BIGSERIAL NOT NULL,
    "tokenable_type" TEXT NOT NULL,
    "tokenable_id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "abilities" TEXT,
    "last_used_at" TIMESTAMP(3),
    "expires_at" TIMESTAMP(3),
    "created_at" TIMESTAMP(3),
    "updated_at" TIMESTAMP(3),

    CONSTRAINT "personal_access_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "users" (
    "id" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "email_verified_at" TIMESTAMP(3),
    "pending_email" TEXT,
    "language" TEXT,
    "password" TEXT,
    "role" TEXT NOT NULL DEFAULT 'user',
    "disabled_at" TIMESTAMP(3),
    "two_factor_secret" TEXT,
    "two_factor_recovery_codes" TEXT,
    "two_factor_confirmed_at" TIMESTAMP(3),
    "two_factor_last_step" BIGINT,
    "passkey_handle" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "email_changes" (
    "id" BIGSERIAL NOT NULL,
    "user_id" BIGINT NOT NULL,
    "old_email" TEXT NOT NULL,
    "new_email" TEXT NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,
    "applied_at" TIMESTAMP(3),
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "email_changes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "events" (
    "id" BIGSERIAL NOT NULL,
    "type" TEXT NOT NULL,
    "user_id" BIGINT,
    "actor" TEXT,
    "target" TEXT,
    "credential" TEXT,
    "client_id" TEXT,
    "reason" TEXT,
    "ip_address" TEXT,
    "user_agent" TEXT,
    "request_id" TEXT,
    "data" TEXT NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMP(3) NOT NULL,
    "repeat_key" TEXT,
    "repeats" INTEGER NOT NULL DEFAULT 0,
    "last_at" TIMESTAMP(3),
    "exported_at" TIMESTAMP(3),

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "outbox" (
    "id" BIGSERIAL NOT NULL,
    "kind" TEXT NOT NULL,
    "payload" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "available_at" TIMESTAMP(3) NOT NULL,
    "locked_until" TIMESTAMP(3),
    "failed_at" TIMESTAMP(3),
    "last_error" TEXT,
    "merge_key" TEXT,
    "times" INTEGER NOT NULL DEFAULT 1,
    "order_key" TEXT,
    "user_id" BIGINT,
    "created_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "jobs" (
    "name" TEXT NOT NULL,
    "last_run_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "jobs_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "invitations" (
    "id" BIGSERIAL NOT NULL,
    "email" TEXT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "name" TEXT,
    "role" TEXT NOT NULL,
    "inviter" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "invitations_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "password_resets_created_at_idx" ON "password_resets"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "sessions_public_id_key" ON "sessions"("public_id");

-- CreateIndex
CREATE INDEX "sessions_user_id_idx" ON "sessions"("user_id");

-- CreateIndex
CREATE INDEX "sessions_last_seen_at_idx" ON "sessions"("last_seen_at");

-- CreateIndex
CREATE INDEX "sessions_created_at_idx" ON "sessions"("created_at");

-- CreateIndex
CREATE INDEX "remember_tokens_user_id_idx" ON "remember_tokens"("user_id");

-- CreateIndex
CREATE INDEX "remember_tokens_expires_at_idx" ON "remember_tokens"("expires_at");

-- CreateIndex
CREATE INDEX "used_once_expires_at_idx" ON "used_once"("expires_at");

-- CreateIndex
CREATE INDEX "login_limits_resets_at_idx" ON "login_limits"("resets_at");

-- CreateIndex
CREATE INDEX "login_codes_expires_at_idx" ON "login_codes"("expires_at");

-- CreateIndex
CREATE INDEX "idempotency_keys_expires_at_idx" ON "idempotency_keys"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_records_grant_hash_idx" ON "oauth_records"("grant_hash");

-- CreateIndex
CREATE INDEX "oauth_records_code_hash_idx" ON "oauth_records"("code_hash");

-- CreateIndex
CREATE INDEX "oauth_records_parent_hash_idx" ON "oauth_records"("parent_hash");

-- CreateIndex
CREATE INDEX "oauth_records_user_id_kind_idx" ON "oauth_records"("user_id", "kind");

-- CreateIndex
CREATE INDEX "oauth_records_session_id_idx" ON "oauth_records"("session_id");

-- CreateIndex
CREATE INDEX "oauth_records_expires_at_idx" ON "oauth_records"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "oauth_records_uid_hash_key" ON "oauth_records"("uid_hash");

-- CreateIndex
CREATE INDEX "oauth_denials_expires_at_idx" ON "oauth_denials"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_status_entries_expires_at_idx" ON "oauth_status_entries"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_personal_tokens_user_id_idx" ON "oauth_personal_tokens"("user_id");

-- CreateIndex
CREATE INDEX "oauth_personal_tokens_expires_at_idx" ON "oauth_personal_tokens"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_keys_algorithm_signs_from_idx" ON "oauth_keys"("algorithm", "signs_from");

-- CreateIndex
CREATE UNIQUE INDEX "passkeys_credential_id_key" ON "passkeys"("credential_id");

-- CreateIndex
CREATE INDEX "passkeys_user_id_idx" ON "passkeys"("user_id");

-- CreateIndex
CREATE INDEX "passkey_challenges_session_hash_ceremony_idx" ON "passkey_challenges"("session_hash", "ceremony");

-- CreateIndex
CREATE INDEX "passkey_challenges_expires_at_idx" ON "passkey_challenges"("expires_at");

-- CreateIndex
CREATE INDEX "sample_tasks_user_id_idx" ON "sample_tasks"("user_id");

-- CreateIndex
CREATE INDEX "social_accounts_user_id_idx" ON "social_accounts"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "social_accounts_provider_issuer_provider_id_key" ON "social_accounts"("provider", "issuer", "provider_id");

-- CreateIndex
CREATE UNIQUE INDEX "personal_access_tokens_token_key" ON "personal_access_tokens"("token");

-- CreateIndex
CREATE INDEX "personal_access_tokens_tokenable_type_tokenable_id_idx" ON "personal_access_tokens"("tokenable_type", "tokenable_id");

-- CreateIndex
CREATE INDEX "personal_access_tokens_expires_at_idx" ON "personal_access_tokens"("expires_at");

-- CreateIndex
CREATE INDEX "personal_access_tokens_created_at_idx" ON "personal_access_tokens"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

-- CreateIndex
CREATE UNIQUE INDEX "users_passkey_handle_key" ON "users"("passkey_handle");

-- CreateIndex
CREATE INDEX "users_role_id_idx" ON "users"("role", "id");

-- CreateIndex
CREATE INDEX "email_changes_user_id_idx" ON "email_changes"("user_id");

-- CreateIndex
CREATE INDEX "email_changes_old_email_idx" ON "email_changes"("old_email");

-- CreateIndex
CREATE INDEX "email_changes_expires_at_idx" ON "email_changes"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "events_repeat_key_key" ON "events"("repeat_key");

-- CreateIndex
CREATE INDEX "events_user_id_created_at_idx" ON "events"("user_id", "created_at");

-- CreateIndex
CREATE INDEX "events_type_created_at_idx" ON "events"("type", "created_at");

-- CreateIndex
CREATE INDEX "events_client_id_created_at_idx" ON "events"("client_id", "created_at");

-- CreateIndex
CREATE INDEX "events_actor_idx" ON "events"("actor");

-- CreateIndex
CREATE INDEX "events_exported_at_created_at_idx" ON "events"("exported_at", "created_at");

-- CreateIndex
CREATE INDEX "events_created_at_idx" ON "events"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_merge_key_key" ON "outbox"("merge_key");

-- CreateIndex
CREATE INDEX "outbox_failed_at_available_at_idx" ON "outbox"("failed_at", "available_at");

-- CreateIndex
CREATE INDEX "outbox_order_key_id_idx" ON "outbox"("order_key", "id");

-- CreateIndex
CREATE INDEX "outbox_user_id_idx" ON "outbox"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "invitations_email_key" ON "invitations"("email");

-- CreateIndex
CREATE UNIQUE INDEX "invitations_token_hash_key" ON "invitations"("token_hash");

-- CreateIndex
CREATE INDEX "invitations_expires_at_idx" ON "invitations"("expires_at");

-- AddForeignKey
ALTER TABLE "password_resets" ADD CONSTRAINT "password_resets_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "remember_tokens" ADD CONSTRAINT "remember_tokens_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_records" ADD CONSTRAINT "oauth_records_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_consents" ADD CONSTRAINT "oauth_consents_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_personal_tokens" ADD CONSTRAINT "oauth_personal_tokens_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "social_accounts" ADD CONSTRAINT "social_accounts_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "email_changes" ADD CONSTRAINT "email_changes_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- svc finds users by the start of their address or name. Prisma's models cannot express indexes on expressions.
CREATE INDEX "users_lower_email_idx" ON "users"(lower("email") text_pattern_ops);
CREATE INDEX "users_lower_name_idx" ON "users"(lower("name") text_pattern_ops);
