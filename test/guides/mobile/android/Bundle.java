package android.os;

import java.util.HashMap;
import java.util.Map;

/** The container in which the library passes requests to the system. */
public class Bundle {
    private final Map<String, Object> values = new HashMap<>();

    public void putString(String key, String value) { values.put(key, value); }
    public void putBoolean(String key, boolean value) { values.put(key, value); }
    public void putByteArray(String key, byte[] value) { values.put(key, value); }
    public void putCharSequence(String key, CharSequence value) { values.put(key, value); }
    public void putBundle(String key, Bundle value) { values.put(key, value); }
    public void putParcelable(String key, Parcelable value) { values.put(key, value); }
    public void putInt(String key, int value) { values.put(key, value); }
}
