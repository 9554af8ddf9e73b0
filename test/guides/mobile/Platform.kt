// Replaces what only an Android device has, to run the Kotlin code of docs/guides/mobile.md on a Java virtual machine. The
// code is compiled against the real libraries, and everything else of them runs as it is.
package androidx.credentials

import android.content.Context
import org.json.JSONObject

/** Prints a request for the authenticator of the test, and reads its response. */
private fun authenticator(ceremony: String, options: String): String {
    println(JSONObject().put(ceremony, JSONObject(options)))
    return readln()
}

interface CredentialManager {
    companion object {
        fun create(context: Context): CredentialManager = object : CredentialManager {}
    }

    suspend fun getCredential(context: Context, request: GetCredentialRequest): GetCredentialResponse {
        val option = request.credentialOptions.single() as GetPublicKeyCredentialOption
        return GetCredentialResponse(PublicKeyCredential(authenticator("get", option.requestJson)))
    }

    suspend fun createCredential(context: Context, request: CreateCredentialRequest): CreateCredentialResponse {
        val options = (request as CreatePublicKeyCredentialRequest).requestJson
        return CreatePublicKeyCredentialResponse(authenticator("create", options))
    }
}
