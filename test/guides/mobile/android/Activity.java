package android.app;

public class Activity extends android.content.Context {}
