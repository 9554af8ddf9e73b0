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
    "merge_key" TEXT,
    "times" INTEGER NOT NULL DEFAULT 1,
    "created_at" DATETIME NOT NULL
);
INSERT INTO "new_outbox" ("attempts", "available_at", "created_at", "failed_at", "id", "kind", "last_error", "locked_until", "payload") SELECT "attempts", "available_at", "created_at", "failed_at", "id", "kind", "last_error", "locked_until", "payload" FROM "outbox";
DROP TABLE "outbox";
ALTER TABLE "new_outbox" RENAME TO "outbox";
CREATE UNIQUE INDEX "outbox_merge_key_key" ON "outbox"("merge_key");
CREATE INDEX "outbox_failed_at_available_at_idx" ON "outbox"("failed_at", "available_at");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;
