import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withPart } from '../../bench/page.ts';
import { ALERT_EVENTS } from '../../src/core/tables/alerts/index.ts';
import { code } from './schema-words.ts';
import { markdownTable } from './table.ts';

const PAGE = join(import.meta.dir, '../../docs/operate/alerts.md');

/** Makes the table of events on the page on alerts. */
export function alertsPage(): string {
  const rows = Object.values(ALERT_EVENTS).map(({ on, about, often }) => [code(on), about, often]);
  const events = markdownTable(['`on`', 'sends an alert about', 'how often'], rows);
  return withPart(readFileSync(PAGE, 'utf8'), 'events', events);
}
