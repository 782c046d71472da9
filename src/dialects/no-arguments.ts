/**
 * The arguments of a call without arguments, as OpenAI's models write them. An empty text instead of `{}` is invalid JSON, and clients fail
 * to parse it. A call that the token limit cut off keeps its incomplete arguments.
 */
export const NO_ARGUMENTS = '{}';
