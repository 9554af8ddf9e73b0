-- CreateTable
CREATE TABLE "config_snapshots" (
    "id" TEXT NOT NULL,
    "settings" TEXT NOT NULL,
    "applied_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "config_snapshots_pkey" PRIMARY KEY ("id")
);
