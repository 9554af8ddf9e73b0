-- Oldest version: 0.1.0
-- CreateTable
CREATE TABLE "decision_batches" (
    "id" BIGSERIAL NOT NULL,
    "decisions" TEXT NOT NULL,
    "recorded_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "decision_batches_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "decision_batches_recorded_at_idx" ON "decision_batches"("recorded_at");
