/**
 * The console is a web application at `/console` that uses the admin API. docs/operate/console.md describes it for its users.
 *
 *   views.ts   the views in the order of the navigation: name, path, the action that opens it, and its code
 *   views/     a folder for each view: `index.tsx` exports the component, `NAME.css` has the styles that only this view needs
 *   shell/     navigation, sign-in, address (`param`, `hrefOf`, `setParams`), time range, the viewer's role (`reachOfViewer`)
 *   api/       reads with a cache (`useResource`, `usePages`), changes (`send`, then `renewAll`)
 *   design/    the parts of a screen: Button, Field, Table, Panel, State, Loaded, Money, When …
 *   charts/    Lines, Bars, Scatter, Waterfall, Sparkline: each has a sentence above and a table of its figures
 *
 * To add a view, fill in its folder and add a line to `views.ts`. Add the schema of each new API path to `api/reads.ts`.
 * test/console/rules.test.ts enforces three rules: import only types from the server; never make markup from text; set styles with classes
 * and data colours with tokens.
 */
import { render } from 'preact';
import './console.css';
import { followFocus } from './shell/focus.ts';
import { followSession, openSession } from './shell/session.ts';
import { Shell } from './shell/shell.tsx';
import { followTheme } from './shell/theme.ts';

const root = document.getElementById('app');
if (!root) throw new Error('The page has no element #app.');
followTheme();
followFocus();
followSession();
void openSession();
render(<Shell />, root);
