/* A library that does nothing. */
extern int nothing;
int nothing;
