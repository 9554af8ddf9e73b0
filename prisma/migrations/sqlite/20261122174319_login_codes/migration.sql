-- CreateTable
CREATE TABLE "login_codes" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "email" TEXT NOT NULL,
    "mac" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "remember" BOOLEAN NOT NULL,
    "return_to" TEXT,
    "expires_at" DATETIME NOT NULL
);

-- CreateIndex
CREATE INDEX "login_codes_expires_at_idx" ON "login_codes"("expires_at");
