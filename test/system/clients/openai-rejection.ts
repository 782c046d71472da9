import OpenAI from 'openai';

/** Returns the error with which a promise rejects. */
export async function rejection(promise: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error;
    throw error;
  }
  throw new Error('it did not reject');
}
