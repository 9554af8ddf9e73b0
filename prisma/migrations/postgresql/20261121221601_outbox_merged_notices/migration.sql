-- AlterTable
ALTER TABLE "outbox" ADD COLUMN     "merge_key" TEXT,
ADD COLUMN     "times" INTEGER NOT NULL DEFAULT 1;

-- CreateIndex
CREATE UNIQUE INDEX "outbox_merge_key_key" ON "outbox"("merge_key");
