// Runs the functions of docs/guides/mobile.md, and prints one line of JSON for each.
import android.app.Activity
import kotlinx.coroutines.runBlocking
import org.json.JSONObject

fun main(arguments: Array<String>) = runBlocking {
    val (token, password) = arguments
    val calls = listOf(
        suspend { addPasskey(Activity(), token, password, "Pixel 9") },
        suspend { signInByPasskey(Activity(), "Pixel 9") },
        suspend { addPasskey(Activity(), token, "wrong", "Pixel 9") },
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
