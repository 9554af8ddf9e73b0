/**
 * Texts of the pages by name; `theme.texts` overrides them. `{app}` is `app.name`; a comment above a text explains its
 * other placeholders. `lang` is the language of the texts, for screen readers and hyphenation. The test page is for
 * development and always in English.
 */
export const defaultTexts = {
  lang: 'en',

  'login.title': 'Sign in',
  'login.email': 'Email address',
  'login.password': 'Password',
  'login.remember': 'Stay signed in on this device',
  'login.submit': 'Sign in',
  'login.forgot': 'Forgot your password?',
  'login.register': 'Create an account',
  'login.or': 'or',
  'login.after_reset': 'Your password has been reset. Please sign in with the new one.',
  // Failed sign-ins through a provider.
  'login.access_denied': 'Access was denied.',
  'login.expired': 'The sign-in expired. Please try again.',
  'login.email_missing': 'The provider did not share your email address.',
  'login.email_unverified': 'Your email address is not verified with the provider.',
  'login.account_exists': 'An account with this email address already exists. Use another sign-in method.',
  'login.registration_disabled': 'You do not have an account here, and new accounts are disabled.',
  'login.provider_failed': 'The provider could not sign you in. Please try again, or use another sign-in method.',
  'login.passkey': 'Sign in with a passkey',
  'login.passkey_failed': 'Passkey sign-in failed. Please try again, or use your password.',

  'register.title': 'Create an account',
  'register.name': 'Name',
  'register.email': 'Email address',
  'register.password': 'Password',
  'register.submit': 'Create account',
  'register.login': 'I already have an account',

  // Links below each page, where `links` has them.
  'footer.help': 'Help',
  'footer.privacy': 'Privacy',
  'footer.terms': 'Terms',

  // Fields for passwords. {min}: the minimum length.
  'password.hint': 'At least {min} characters.',
  'password.show': 'Show password',
  'password.caps_lock': 'Caps Lock is on.',
  'password.too_short': 'The password is too short.',
  'password.weak': 'Password strength: weak. Add a few more words or characters.',
  'password.good': 'Password strength: good.',
  'password.strong': 'Password strength: strong.',

  'challenge.title': 'Two-factor authentication',
  'challenge.lead': 'Enter the code that your authenticator app shows for {app}.',
  'challenge.code': 'Code',
  'challenge.submit': 'Continue',
  'challenge.no_device': 'Use a recovery code instead',
  'challenge.recovery_lead': 'Each recovery code works once.',
  'challenge.recovery_code': 'Recovery code',
  'challenge.recovery_submit': 'Continue with the recovery code',
  'challenge.restart': 'Use another account',

  'step-up.title': 'Confirm that it is you',
  'step-up.passkey_lead': 'Use one of your passkeys for {app} to continue.',
  'step-up.passkey': 'Use a passkey',
  'step-up.passkey_failed': 'Your passkey could not be verified. Please try again.',
  'step-up.no_script': 'Passkeys require JavaScript. Turn it on and reload the page.',

  'forgot-password.title': 'Forgot your password?',
  'forgot-password.lead': 'Enter your email address, and we will send you a link to choose a new password.',
  'forgot-password.email': 'Email address',
  'forgot-password.submit': 'Send the link',
  'forgot-password.sent_title': 'Check your inbox',
  'forgot-password.sent_hint': 'No mail after a few minutes? Check your spam folder, or try again.',
  'forgot-password.login': 'Back to sign in',

  'reset-password.title': 'Choose a new password',
  // {email}: the address of the account.
  'reset-password.lead': 'For the account {email}.',
  'reset-password.password': 'New password',
  'reset-password.confirmation': 'Confirm new password',
  'reset-password.submit': 'Reset password',

  'unlock.title': 'Unlock sign-in',
  'unlock.lead':
    'After many wrong passwords, sign-in to your account is locked for a while. Unlock it and sign in from this browser.',
  'unlock.submit': 'Unlock',
  'unlock.invalid': 'This link is invalid',
  'unlock.invalid_text': 'It has expired or was already used. Sign in another way, or try again later.',

  'home.title': 'Your account',
  'home.signed_out': 'You are not signed in.',
  'home.login': 'Sign in',
  'home.just_verified': 'Your email address is verified. Thank you.',
  'home.signed_in': 'You are signed in.',
  'home.name': 'Name',
  'home.email': 'Email address',
  'home.verified': 'Verified',
  'home.unverified': 'Not verified yet. Open the link in the mail that we sent you.',
  'home.sign_out': 'Sign out',

  'consent.title': 'Authorize',
  // {client}: the application that requests access, here and on the pages below.
  'consent.heading': '{client} asks for access to your account',
  'consent.user': 'Your account',
  'consent.switch': 'Use another account',
  'consent.scopes': 'It will be able to',
  'consent.no_scopes': 'It can identify you and has no other access.',
  'consent.host': 'You will continue to',
  'consent.local': 'an app on this device',
  'consent.device': 'the device that shows your code',
  'consent.hint': 'Authorize this only if you trust {client} and came here from it.',
  'consent.approve': 'Authorize',
  'consent.deny': 'Deny',

  'device.title': 'Connect a device',
  'device.lead': 'Enter the code that your device shows.',
  'device.code': 'Code',
  'device.warning': 'Never enter a code that someone else gave you. It would give them access to your account.',
  'device.submit': 'Continue',
  'device.aborted': 'Cancelled. No device was connected.',
  'device.expired': 'This code has expired. Start again on your device and enter the new code.',
  'device.limited': 'Too many invalid codes. Please wait an hour and try again.',
  'device.unknown': 'This code is invalid or already used. Compare it with the code on your device.',

  'device-confirm.title': 'Connect a device',
  'device-confirm.heading': 'Is this your device?',
  'device-confirm.compare': 'It must show this code:',
  'device-confirm.client': 'Application',
  'device-confirm.ip': 'IP address',
  'device-confirm.agent': 'Device',
  'device-confirm.unknown': 'Unknown',
  'device-confirm.only_yours': 'Continue only if you started this yourself, on a device in front of you.',
  'device-confirm.warning':
    'If someone sent you this code or a link to this page, cancel. They are trying to access your account.',
  'device-confirm.confirm': 'Connect',
  'device-confirm.abort': 'Cancel',

  'device-done.title': 'Connect a device',
  'device-done.heading': 'Your device is connected',
  'device-done.text': '{client} now has access to your account.',
  'device-done.close': 'You can close this page and continue on your device.',

  'logout.title': 'Sign out',
  'logout.heading': 'Do you want to sign out?',
  'logout.lead': 'You are about to sign out of {app}.',
  'logout.asked': '{client} asks you to sign out of {app}.',
  'logout.user': 'You are signed in as',
  'logout.yes': 'Sign out',
  'logout.no': 'Stay signed in',
  'logout.stay_hint': 'If you stay signed in, you are signed out of {client} only.',

  'logged-out.title': 'Sign out',
  'logged-out.heading': 'You are signed out',
  'logged-out.text': 'On a shared computer, also close all browser windows.',
  'logged-out.home': 'Go to the start page',

  'verify-email.title': 'Verify your email address',
  // {email}: the unverified address.
  'verify-email.lead': 'Open the link in the mail that we sent to {email}.',
  'verify-email.submit': 'Send the mail again',
  'verify-email.sent': 'The mail is on its way.',

  'verify.invalid': 'This link is invalid',
  'verify.invalid_text': 'It has expired or is incomplete. Request a new mail and open its link.',
  'verify.not_yours': 'This link is for another account',
  'verify.not_yours_text':
    'You are signed in with another account, or its email address has changed. Sign in with the account that received the mail.',

  'undo-email.title': 'Keep your old email address?',
  // {email}: the old address.
  'undo-email.lead': 'This makes {email} the address of your {app} account again.',
  'undo-email.hint':
    'It also signs out all devices, revokes all tokens and removes the password, in case someone else knows it. You then choose a new password.',
  'undo-email.submit': 'Undo the change',
  'undo-email.done_title': 'Your old email address is restored',
  'undo-email.done': 'All devices are signed out. Choose a new password now, then review your sign-in methods.',
  'undo-email.new_password': 'Choose a new password',
  'undo-email.invalid': 'This link is invalid',
  'undo-email.invalid_text':
    'It was already used or is older than 7 days. If you need help, contact the {app} support.',
  'undo-email.taken': 'Another account uses this address',
  'undo-email.taken_text':
    'The change cannot be undone while another account uses the address. Contact the {app} support.',

  'error.title': 'Error',
  'error.home': 'Go to the start page',
  'error.request_id': 'Request ID:',
  'error.heading': 'The request failed',
  'error.not_found': 'Page not found',
  'error.not_found_text': 'There is no page at this address. The link may be outdated or incomplete.',
  'error.csrf_mismatch': 'This page has expired',
  'error.csrf_mismatch_text':
    'Nothing was changed. Go back, reload the page and submit the form again. If that does not help, allow cookies for this site.',
  'error.too_many_requests': 'Too many attempts',
  'error.unauthenticated': 'You are not signed in',
  'error.unauthenticated_text': 'Please sign in, then try again.',
  'error.forbidden': 'Not allowed',
  'error.forbidden_text': 'Your account does not have permission to do this.',
  'error.email_unverified': 'Your email address is not verified',
  'error.email_unverified_text': 'Open the link in the mail that we sent you, then try again.',
  'error.unavailable': 'Temporarily unavailable',
  'error.unavailable_text': 'Please try again in a moment.',
  'error.server_error': 'Something went wrong on our side',
  'error.server_error_text': 'Please try again. If it happens again, contact the {app} support.',
} as const satisfies Record<string, string>

/** Name of a text. */
export type TextName = keyof typeof defaultTexts

/** Tests for a known text name. */
export const isTextName = (name: string): name is TextName => Object.hasOwn(defaultTexts, name)
