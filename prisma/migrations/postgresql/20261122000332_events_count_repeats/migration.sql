-- AlterTable
ALTER TABLE "events" ADD COLUMN     "last_at" TIMESTAMP(3),
ADD COLUMN     "repeat_key" TEXT,
ADD COLUMN     "repeats" INTEGER NOT NULL DEFAULT 0;

-- CreateIndex
CREATE UNIQUE INDEX "events_repeat_key_key" ON "events"("repeat_key");
