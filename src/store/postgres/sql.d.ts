/** An SQL file, imported as text. */
declare module '*.sql' {
  const text: string;
  export default text;
}
