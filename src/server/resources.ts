import type { Keys } from '../access/keys.ts';
import type { People } from '../access/people.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { EventFeed } from '../http/event-feed.ts';
import type { OpenStore } from '../store/driver.ts';
import type { Host } from './host.ts';
import type { ServerLife } from './life.ts';

/** What the parts of a server are opened with. */
export interface ServerResources {
  readonly store: OpenStore;
  readonly keys: Keys;
  readonly people: People;
  readonly log: Log;
  readonly host: Host;
  readonly feed: EventFeed;
  readonly life: ServerLife;
}
