import { defineProvider, Type } from 'signalbox/plugin';
import { readFailure } from './openai-compatible/failure.ts';
import { readReply } from './openai-compatible/reply.ts';
import { buildRequest } from './openai-compatible/request.ts';
import { ChunkReader } from './openai-compatible/stream.ts';

/** Any server that speaks OpenAI's chat-completions dialect: OpenAI itself, vLLM, Ollama, and most providers. */
export const openaiCompatible = defineProvider({
  name: 'openai-compatible',
  status: 'stable',
  settings: Type.Object(
    {
      max_tokens_field: Type.Union([Type.Literal('max_tokens'), Type.Literal('max_completion_tokens')], {
        default: 'max_tokens',
        description: 'The request field that caps the output. OpenAI wants the newer one for reasoning models.',
      }),
      reasoning_history: Type.Union([Type.Literal('left_out'), Type.Literal('sent')], {
        default: 'left_out',
        description:
          'Whether the reasoning of earlier answers is sent back in `messages`. Most servers refuse it; DeepSeek, Moonshot and Z.ai want it between tool calls.',
      }),
      developer_role: Type.Union([Type.Literal('developer'), Type.Literal('system')], {
        default: 'developer',
        description: 'How a `developer` message is sent; `system` for servers that do not know that role.',
      }),
    },
    { additionalProperties: false },
  ),
  prepare: (settings) => ({
    kind: 'wire',
    dialect: 'openai',
    frames: 'sse',
    auth: { header: 'authorization', prefix: 'Bearer ' },
    request: (call) => buildRequest(call, settings),
    reply: readReply,
    stream: () => new ChunkReader(),
    failure: readFailure,
  }),
});
