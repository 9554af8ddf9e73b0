-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_events" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "type" TEXT NOT NULL,
    "user_id" INTEGER,
    "ip_address" TEXT,
    "user_agent" TEXT,
    "request_id" TEXT,
    "data" TEXT NOT NULL DEFAULT '{}',
    "created_at" DATETIME NOT NULL,
    "repeat_key" TEXT,
    "repeats" INTEGER NOT NULL DEFAULT 0,
    "last_at" DATETIME
);
INSERT INTO "new_events" ("created_at", "data", "id", "ip_address", "request_id", "type", "user_agent", "user_id") SELECT "created_at", "data", "id", "ip_address", "request_id", "type", "user_agent", "user_id" FROM "events";
DROP TABLE "events";
ALTER TABLE "new_events" RENAME TO "events";
CREATE UNIQUE INDEX "events_repeat_key_key" ON "events"("repeat_key");
CREATE INDEX "events_user_id_created_at_idx" ON "events"("user_id", "created_at");
CREATE INDEX "events_created_at_idx" ON "events"("created_at");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;
