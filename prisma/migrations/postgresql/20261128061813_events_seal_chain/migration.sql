-- Oldest version: 0.1.0
-- CreateTable
CREATE TABLE "event_seals" (
    "id" BIGINT NOT NULL,
    "body" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "signature" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "sealed_at" TIMESTAMP(3) NOT NULL,
    "exported_at" TIMESTAMP(3),

    CONSTRAINT "event_seals_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "event_keys" (
    "user_id" BIGINT NOT NULL,
    "key" TEXT NOT NULL,

    CONSTRAINT "event_keys_pkey" PRIMARY KEY ("user_id")
);

-- AddForeignKey
ALTER TABLE "event_keys" ADD CONSTRAINT "event_keys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
