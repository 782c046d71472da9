import type { ChatRequest, ProviderCall } from 'signalbox/plugin';

/** A call with the original of its request, in OpenAI's dialect. */
export type ChatCall = Omit<ProviderCall, 'request'> & { readonly request: ChatRequest };

export const chatCall = (call: ProviderCall): ChatCall => ({
  ...call,
  request: call.request.original.body as ChatRequest,
});
