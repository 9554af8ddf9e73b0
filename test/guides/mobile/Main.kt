// Runs the functions of docs/guides/mobile.md, and prints one line of JSON for each.
import android.app.Activity
import java.security.KeyPairGenerator
import kotlinx.coroutines.runBlocking
import org.json.JSONObject

fun main(arguments: Array<String>) = runBlocking {
    val (token, password, email) = arguments
    val key = KeyPairGenerator.getInstance("EC").apply { initialize(256) }.generateKeyPair()
    val typed = JSONObject().put("email", email).put("password", password).put("device_name", "Pixel 9")
    val bound = post("/svc/token", typed, null, key).getString("token")
    val named = JSONObject().put("token_name", "ci")
    val calls = listOf(
        suspend { addPasskey(Activity(), token, password, "Pixel 9") },
        suspend { signInByPasskey(Activity(), "Pixel 9") },
        suspend { addPasskey(Activity(), token, "wrong", "Pixel 9") },
        suspend { post("/api/tokens/create", named, bound, key) },
        suspend { post("/api/tokens/create", named, bound) },
    )
    for (call in calls) {
        val result = try {
            call()
        } catch (error: SvcException) {
            JSONObject().put("status", error.status).put("error", error.json).put("message", error.message)
        }
        println(JSONObject().put("result", result))
    }
}
