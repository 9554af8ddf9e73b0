-- AlterTable
ALTER TABLE "outbox" ADD COLUMN     "order_key" TEXT;

-- CreateIndex
CREATE INDEX "outbox_order_key_id_idx" ON "outbox"("order_key", "id");
