-- Simultaneous requests of one browser could store one session twice.
DELETE FROM "oauth_records" WHERE "uid_hash" IS NOT NULL
  AND "id" NOT IN (SELECT MIN("id") FROM "oauth_records" WHERE "uid_hash" IS NOT NULL GROUP BY "uid_hash");

-- DropIndex
DROP INDEX "oauth_records_uid_hash_idx";

-- CreateIndex
CREATE UNIQUE INDEX "oauth_records_uid_hash_key" ON "oauth_records"("uid_hash");
