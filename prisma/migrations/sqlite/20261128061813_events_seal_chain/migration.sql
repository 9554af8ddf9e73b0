-- Oldest version: 0.1.0
-- CreateTable
CREATE TABLE "event_seals" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "body" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "signature" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "sealed_at" DATETIME NOT NULL,
    "exported_at" DATETIME
);

-- CreateTable
CREATE TABLE "event_keys" (
    "user_id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "key" TEXT NOT NULL,
    CONSTRAINT "event_keys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
