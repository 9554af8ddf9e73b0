-- Oldest version: 0.1.0
-- CreateTable
CREATE TABLE "decision_batches" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "decisions" TEXT NOT NULL,
    "recorded_at" DATETIME NOT NULL
);

-- CreateIndex
CREATE INDEX "decision_batches_recorded_at_idx" ON "decision_batches"("recorded_at");
