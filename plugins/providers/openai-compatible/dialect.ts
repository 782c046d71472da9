import type { Capability, PreparedProvider, ServiceTiers, WireAdapter } from 'signalbox/plugin';
import { BEARER } from '../bearer.ts';
import { ChunkReader, readReply } from './answer.ts';
import { embeddingsOf } from './embeddings.ts';
import { readFailure } from './failure.ts';
import { modelList } from './model-list.ts';
import { buildRequest, lacksOf } from './request.ts';
import { serverOf } from './servers/servers.ts';
import type { DialectSettings } from './settings.ts';

/** The capabilities that each value of the setting `completions` declares. */
const COMPLETIONS: Readonly<Record<DialectSettings['completions'], readonly Capability[]>> = {
  none: [],
  prompt: ['completions'],
  prompt_and_suffix: ['completions', 'suffix'],
};

/** Servers without a setting of the account may not know the name `default`, and mean it if no tier is stated. */
const TIERS: Readonly<Record<DialectSettings['service_tier'], ServiceTiers | undefined>> = {
  left_out: undefined,
  sent: { takes: (tier) => tier !== 'default' },
  always: { takes: () => true, usual: 'default' },
};

/** Creates the adapter for one server's variant of OpenAI's chat completions. */
export function chatCompletions(
  settings: DialectSettings,
): WireAdapter & PreparedProvider & Required<Pick<PreparedProvider, 'lacks'>> {
  const modelServer = serverOf(settings);
  return {
    kind: 'wire',
    dialect: 'openai',
    frames: 'sse',
    auth: settings.auth === 'api-key' ? { header: 'api-key', prefix: '', token: BEARER } : BEARER,
    lacks: (model) => lacksOf(settings, model),
    passes: () => COMPLETIONS[settings.completions],
    // platform.openai.com/docs/api-reference/chat/create#chat-create-stop
    takesStops: (stops) => stops.length <= 4,
    serviceTiers: TIERS[settings.service_tier],
    request: (call) => buildRequest(call, settings),
    reply: readReply,
    stream: () => new ChunkReader(),
    failure: readFailure,
    embeddings: embeddingsOf(settings),
    modelList,
    ...(modelServer && { modelServer }),
  };
}
