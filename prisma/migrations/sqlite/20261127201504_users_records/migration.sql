-- Oldest version: 0.1.0
-- CreateTable
CREATE TABLE "user_groups" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "description" TEXT,
    "created_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "group_memberships" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "user_id" INTEGER NOT NULL,
    "group_name" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "created_at" DATETIME NOT NULL,
    CONSTRAINT "group_memberships_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "group_memberships_group_name_fkey" FOREIGN KEY ("group_name") REFERENCES "user_groups" ("name") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "used_usernames" (
    "hash" TEXT NOT NULL PRIMARY KEY
);

-- AlterTable
ALTER TABLE "invitations" ADD COLUMN "groups" TEXT NOT NULL DEFAULT '[]';

-- AlterTable
ALTER TABLE "users" ADD COLUMN "attributes" TEXT NOT NULL DEFAULT '{}';
ALTER TABLE "users" ADD COLUMN "groups" TEXT NOT NULL DEFAULT '[]';
ALTER TABLE "users" ADD COLUMN "username" TEXT;

-- CreateIndex
CREATE INDEX "group_memberships_group_name_user_id_idx" ON "group_memberships"("group_name", "user_id");

-- CreateIndex
CREATE UNIQUE INDEX "group_memberships_user_id_group_name_source_key" ON "group_memberships"("user_id", "group_name", "source");
