import { CHAT } from './chat.ts';
import { roundTripTests } from './law.ts';
import { MESSAGES } from './messages.ts';
import { RESPONSES } from './responses.ts';

for (const dialect of [CHAT, MESSAGES, RESPONSES]) roundTripTests(dialect);
