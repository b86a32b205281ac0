#define PART "expected otherwise"
