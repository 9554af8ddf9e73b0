-- CreateTable
CREATE TABLE "used_once" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "expires_at" INTEGER NOT NULL
);

-- CreateIndex
CREATE INDEX "used_once_expires_at_idx" ON "used_once"("expires_at");

-- Keys that were used before the upgrade stay used. Both tables hash the purpose and the key in the same way.
INSERT INTO "used_once" ("id", "expires_at")
SELECT "id", "expires_at" FROM "oauth_records"
WHERE "kind" IN ('ReplayDetection', 'SocialState', 'SocialChallenge') AND "expires_at" IS NOT NULL;

DELETE FROM "oauth_records" WHERE "kind" IN ('ReplayDetection', 'SocialState', 'SocialChallenge');
