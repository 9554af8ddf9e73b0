-- CreateTable
CREATE TABLE "config_snapshots" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "settings" TEXT NOT NULL,
    "applied_at" DATETIME NOT NULL
);
