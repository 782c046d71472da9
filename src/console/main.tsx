/**
 * The console: a web application over the admin API, at `/console`. docs/operate/console.md is its page for people.
 *
 *   views.ts   the views, in the order of the rail: name, path, the action that opens it, and its code
 *   views/     a folder for each view: `index.tsx` exports the component, `NAME.css` has what no other view needs
 *   shell/     the rail, the door, the address (`param`, `hrefOf`, `setParams`), the time range, who looks (`reachOfViewer`)
 *   api/       reads with a cache (`useResource`, `usePages`), changes (`send`, then `renewAll`)
 *   design/    the parts of a screen: Button, Field, Table, Panel, State, Loaded, Money, When …
 *   charts/    Lines, Bars, Scatter, Waterfall, Sparkline: each with a sentence above and a table beside it
 *
 * To add a view, fill in its folder; to add to the rail, add a line to `views.ts`. An address that a view reads for the first time gets its
 * schema in `api/reads.ts`. Rules, held by test/console/rules.test.ts: of the server only types; no markup from text; styles by classes, colours of data by tokens.
 */
import { render } from 'preact';
import './console.css';
import { followFocus } from './shell/focus.ts';
import { followSession, openSession } from './shell/session.ts';
import { Shell } from './shell/shell.tsx';
import { followTheme } from './shell/theme.ts';

const root = document.getElementById('app');
if (!root) throw new Error('the page has no place for the console');
followTheme();
followFocus();
followSession();
void openSession();
render(<Shell />, root);
