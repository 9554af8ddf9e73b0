-- AlterTable
ALTER TABLE "events" ADD COLUMN "actor" TEXT;
ALTER TABLE "events" ADD COLUMN "client_id" TEXT;
ALTER TABLE "events" ADD COLUMN "credential" TEXT;
ALTER TABLE "events" ADD COLUMN "exported_at" DATETIME;
ALTER TABLE "events" ADD COLUMN "reason" TEXT;
ALTER TABLE "events" ADD COLUMN "target" TEXT;

-- CreateIndex
CREATE INDEX "events_type_created_at_idx" ON "events"("type", "created_at");

-- CreateIndex
CREATE INDEX "events_client_id_created_at_idx" ON "events"("client_id", "created_at");

-- CreateIndex
CREATE INDEX "events_actor_idx" ON "events"("actor");

-- CreateIndex
CREATE INDEX "events_exported_at_created_at_idx" ON "events"("exported_at", "created_at");

-- CreateIndex
CREATE INDEX "users_role_id_idx" ON "users"("role", "id");

-- The client of earlier events was only in their data.
UPDATE "events" SET "client_id" = json_extract("data", '$.client_id') WHERE "data" LIKE '%"client_id":"%' AND json_valid("data");
