/**
 * The arguments of a call without arguments, as OpenAI's models write them. An empty text is invalid JSON, and clients fail to parse it. A
 * call that the token limit cut off is not changed.
 */
export const NO_ARGUMENTS = '{}';
