/** The files of Swagger UI, imported as the paths where they can be read. */
declare module 'swagger-ui-dist/*' {
  const path: string;
  export default path;
}
