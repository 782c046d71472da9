import type { Operation } from '../../core/kinds/operations.ts';
import { embed } from './embed.ts';
import type { KindOfCall } from './kind.ts';

/** An attempt at a chat is one call. */
const chat: KindOfCall = { calls: () => 1, callsAtOnce: 1, isCachedByInput: false };

/** How the gateway carries out each operation. */
export const KINDS: Readonly<Record<Operation, KindOfCall>> = { chat, embed };
