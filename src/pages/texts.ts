/**
 * Every text of the pages by name; `theme.texts` replaces any of them. `{app}` stands for `app.name`, other names in
 * braces for what is said in the comment above. `lang` is the language of the texts, for screen readers and hyphenation.
 * The test page is for development and speaks English.
 */
export const defaultTexts = {
  lang: 'en',

  'login.title': 'Sign in',
  'login.email': 'Email address',
  'login.password': 'Password',
  'login.remember': 'Stay signed in on this device',
  'login.submit': 'Sign in',
  'login.forgot': 'Forgot your password?',
  'login.or': 'or',
  'login.after_reset': 'Your password has been reset. Please sign in with the new one.',
  // Why a sign-in by another provider came to nothing.
  'login.access_denied': 'Access was denied.',
  'login.expired': 'That took too long. Please try again.',
  'login.email_missing': 'The provider gave us no email address.',
  'login.email_unverified': 'Your email address is not verified at the provider.',
  'login.account_exists': 'There is an account with this email address already. Sign in to it another way.',
  'login.registration_disabled': 'There is no account for you here.',
  'login.provider_failed': 'Signing in there did not work. Please try again, or use another way.',
  'login.passkey': 'Sign in with a passkey',
  'login.passkey_failed': 'Signing in with a passkey did not work. Please try again, or use your password.',

  'challenge.title': 'Two-factor authentication',
  'challenge.lead': 'Enter the code that your authenticator app shows for {app}.',
  'challenge.code': 'Code',
  'challenge.submit': 'Continue',
  'challenge.no_device': 'Use a recovery code instead',
  'challenge.recovery_lead': 'Each recovery code works once.',
  'challenge.recovery_code': 'Recovery code',
  'challenge.recovery_submit': 'Continue with the recovery code',
  'challenge.restart': 'Sign in as somebody else',

  'step-up.title': 'Confirm that it is you',
  'step-up.passkey_lead': 'Use one of your passkeys for {app} to continue.',
  'step-up.passkey': 'Use a passkey',
  'step-up.passkey_failed': 'Your passkey could not be verified. Please try again.',
  'step-up.no_script': 'Passkeys need JavaScript. Turn it on and reload the page.',

  'forgot-password.title': 'Forgot your password?',
  'forgot-password.lead': 'Enter your email address, and we will send you a link to choose a new password.',
  'forgot-password.email': 'Email address',
  'forgot-password.submit': 'Send the link',
  'forgot-password.sent_title': 'Check your inbox',
  'forgot-password.sent_hint': 'Nothing there after a few minutes? Look in the folder for spam, or try again.',
  'forgot-password.login': 'Back to sign in',

  'reset-password.title': 'Choose a new password',
  // {email}: the address of the account.
  'reset-password.lead': 'For the account {email}.',
  'reset-password.password': 'New password',
  // {min}: the fewest characters.
  'reset-password.hint': 'At least {min} characters.',
  'reset-password.confirmation': 'New password, once more',
  'reset-password.submit': 'Set the new password',

  'unlock.title': 'Unlock sign-in',
  'unlock.lead':
    'After many wrong passwords, sign-in to your account is locked for a while. Unlock it and sign in from this browser.',
  'unlock.submit': 'Unlock',
  'unlock.invalid': 'This link does not work',
  'unlock.invalid_text': 'It expired or was used before. Sign in with a passkey, or try again later.',

  'home.title': 'Your account',
  'home.signed_out': 'You are not signed in.',
  'home.login': 'Sign in',
  'home.just_verified': 'Your email address is verified. Thank you.',
  'home.signed_in': 'You are signed in.',
  'home.name': 'Name',
  'home.email': 'Email address',
  'home.verified': 'Verified',
  'home.unverified': 'Not verified yet: follow the link in the mail that we sent you.',
  'home.sign_out': 'Sign out',

  'consent.title': 'Authorize',
  // {client}: the application that asks; so on every page below.
  'consent.heading': '{client} asks for access to your account',
  'consent.user': 'Your account',
  'consent.switch': 'Use another account',
  'consent.scopes': 'It will be able to',
  'consent.no_scopes': 'It may recognize you, and nothing more.',
  'consent.host': 'You then go on to',
  'consent.local': 'an app on this device',
  'consent.device': 'the device that shows your code',
  'consent.hint': 'Authorize this only if you trust {client} and came here from it.',
  'consent.approve': 'Authorize',
  'consent.deny': 'Deny',

  'device.title': 'Connect a device',
  'device.lead': 'Enter the code that your device shows.',
  'device.code': 'Code',
  'device.warning': 'Never enter a code that somebody else gave you. It would let them into your account.',
  'device.submit': 'Continue',
  'device.aborted': 'You have cancelled. Nothing was connected.',
  'device.expired': 'This code is too old. Start again on your device, and enter the new code.',
  'device.limited': 'Too many wrong codes. Please wait an hour, and try again.',
  'device.unknown': 'This code is wrong or already used. Compare it with the one that your device shows.',

  'device-confirm.title': 'Connect a device',
  'device-confirm.heading': 'Is this your device?',
  'device-confirm.compare': 'It must show this code:',
  'device-confirm.client': 'App that asks for access',
  'device-confirm.ip': 'It asked from the IP address',
  'device-confirm.agent': 'The device describes itself as',
  'device-confirm.unknown': 'Not known',
  'device-confirm.only_yours': 'Only go on if you started this yourself, on a device in front of you.',
  'device-confirm.warning':
    'Did somebody send you this code or a link to this page? Then cancel: they want to get into your account.',
  'device-confirm.confirm': 'Connect',
  'device-confirm.abort': 'Cancel',

  'device-done.title': 'Connect a device',
  'device-done.heading': 'Your device is connected',
  'device-done.text': '{client} now has access to your account.',
  'device-done.close': 'You may close this page and go on with your device.',

  'logout.title': 'Sign out',
  'logout.heading': 'Do you want to sign out?',
  'logout.lead': 'You are about to sign out of {app}.',
  'logout.asked': '{client} asks you to sign out of {app}.',
  'logout.user': 'You are signed in as',
  'logout.yes': 'Sign out',
  'logout.no': 'Stay signed in',
  'logout.stay_hint': 'If you stay signed in, only {client} is signed out.',

  'logged-out.title': 'Sign out',
  'logged-out.heading': 'You are signed out',
  'logged-out.text': 'On a shared computer, close all windows of the browser as well.',
  'logged-out.home': 'Go to the start page',

  'verify.invalid': 'This link does not work',
  'verify.invalid_text': 'It is too old or incomplete. Ask for a new mail, and follow the link in that one.',
  'verify.not_yours': 'This link is for another account',
  'verify.not_yours_text':
    'You are signed in with another account, or its address is another one by now. Sign in with the account that the mail was sent to.',

  'undo-email.title': 'Keep your old email address?',
  // {email}: the old address.
  'undo-email.lead': 'This undoes the change, and {email} is the address of your account at {app} again.',
  'undo-email.hint':
    'It also signs out every device, revokes every token and removes the password, in case someone else knows it. You then choose a new password.',
  'undo-email.submit': 'Undo the change',
  'undo-email.done_title': 'Your old email address is restored',
  'undo-email.done':
    'Every device is signed out. Choose a new password now, and check your ways to sign in afterwards.',
  'undo-email.new_password': 'Choose a new password',
  'undo-email.invalid': 'This link does not work',
  'undo-email.invalid_text':
    'It was used already or is older than 7 days. If you need help, contact the people who run {app}.',
  'undo-email.taken': 'Another account uses this address',
  'undo-email.taken_text':
    'The change cannot be undone while another account has the address. Contact the people who run {app}.',

  'error.title': 'Error',
  'error.home': 'Go to the start page',
  'error.heading': 'This did not work',
  'error.not_found': 'Page not found',
  'error.not_found_text': 'There is nothing at this address. Perhaps the link is old or incomplete.',
  'error.csrf_mismatch': 'This page is out of date',
  'error.csrf_mismatch_text':
    'Nothing was changed. Go back, load the page again and send the form once more. If that does not help, allow cookies for this site.',
  'error.too_many_requests': 'Too many attempts',
  'error.unauthenticated': 'You are not signed in',
  'error.unauthenticated_text': 'Please sign in, then try again.',
  'error.forbidden': 'Not allowed',
  'error.forbidden_text': 'Your account may not do this.',
  'error.email_unverified': 'Your email address is not verified',
  'error.email_unverified_text': 'Follow the link in the mail that we sent you, then try again.',
  'error.unavailable': 'Briefly unavailable',
  'error.unavailable_text': 'Please try again in a moment.',
  'error.server_error': 'Something went wrong on our side',
  'error.server_error_text': 'Please try again. If it happens again, tell the people who run {app}.',
} as const satisfies Record<string, string>

/** The name of a text. */
export type TextName = keyof typeof defaultTexts

/** Whether there is a text of this name. */
export const isTextName = (name: string): name is TextName => Object.hasOwn(defaultTexts, name)
