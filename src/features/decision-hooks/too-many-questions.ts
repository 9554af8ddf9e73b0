/** Too many questions wait for the hook. That is neither an answer nor a failure of the hook. */
export class TooManyQuestions extends Error {}
