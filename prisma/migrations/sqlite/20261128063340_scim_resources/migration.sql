-- Oldest version: 0.1.0
-- CreateTable
CREATE TABLE "scim_users" (
    "user_id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "user_name" TEXT NOT NULL,
    "name_key" TEXT NOT NULL,
    "external_id" TEXT,
    CONSTRAINT "scim_users_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "scim_groups" (
    "group_name" TEXT NOT NULL PRIMARY KEY,
    "display_name" TEXT NOT NULL,
    "name_key" TEXT NOT NULL,
    "external_id" TEXT,
    CONSTRAINT "scim_groups_group_name_fkey" FOREIGN KEY ("group_name") REFERENCES "user_groups" ("name") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE UNIQUE INDEX "scim_users_name_key_key" ON "scim_users"("name_key");

-- CreateIndex
CREATE INDEX "scim_users_external_id_idx" ON "scim_users"("external_id");

-- CreateIndex
CREATE UNIQUE INDEX "scim_groups_name_key_key" ON "scim_groups"("name_key");
