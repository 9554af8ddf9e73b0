-- CreateTable
CREATE TABLE "oauth_status_entries" (
    "list" INTEGER NOT NULL,
    "idx" INTEGER NOT NULL,
    "claims" TEXT NOT NULL,
    "expires_at" INTEGER NOT NULL,

    PRIMARY KEY ("list", "idx")
);

-- CreateIndex
CREATE INDEX "oauth_status_entries_expires_at_idx" ON "oauth_status_entries"("expires_at");
