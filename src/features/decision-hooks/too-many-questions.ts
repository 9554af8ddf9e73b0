/** svc itself has no room for another question: neither an answer nor a failure of the hook. */
export class TooManyQuestions extends Error {}
