-- Oldest version: 0.1.0
-- AlterTable
ALTER TABLE "invitations" ADD COLUMN     "groups" TEXT NOT NULL DEFAULT '[]';

-- AlterTable
ALTER TABLE "users" ADD COLUMN     "attributes" TEXT NOT NULL DEFAULT '{}',
ADD COLUMN     "groups" TEXT NOT NULL DEFAULT '[]',
ADD COLUMN     "username" TEXT;

-- CreateTable
CREATE TABLE "user_groups" (
    "name" TEXT NOT NULL,
    "description" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "user_groups_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "group_memberships" (
    "id" BIGSERIAL NOT NULL,
    "user_id" BIGINT NOT NULL,
    "group_name" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "group_memberships_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "used_usernames" (
    "hash" TEXT NOT NULL,

    CONSTRAINT "used_usernames_pkey" PRIMARY KEY ("hash")
);

-- CreateIndex
CREATE INDEX "group_memberships_group_name_user_id_idx" ON "group_memberships"("group_name", "user_id");

-- CreateIndex
CREATE UNIQUE INDEX "group_memberships_user_id_group_name_source_key" ON "group_memberships"("user_id", "group_name", "source");

-- AddForeignKey
ALTER TABLE "group_memberships" ADD CONSTRAINT "group_memberships_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "group_memberships" ADD CONSTRAINT "group_memberships_group_name_fkey" FOREIGN KEY ("group_name") REFERENCES "user_groups"("name") ON DELETE CASCADE ON UPDATE CASCADE;
