/**
 * The arguments of a call without any, as OpenAI's models write them: an empty text is no JSON, and clients fail
 * on it. A call that was cut off by the token limit stays as it is.
 */
export const NO_ARGUMENTS = '{}';
