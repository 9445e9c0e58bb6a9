# Sets `out` to the version of cuDNN's headers, "9.19"; convolutions.cuh says what needs CUDNN_WANTED.
set(CUDNN_WANTED 9.8)
function(cudnn_version out)
  file(STRINGS ${MUZERO_CUDNN_INCLUDE}/cudnn_version.h numbers REGEX "^#define CUDNN_(MAJOR|MINOR) +[0-9]+")
  list(TRANSFORM numbers REPLACE "^.* " "")
  list(JOIN numbers "." numbers)
  set(${out} "${numbers}" PARENT_SCOPE)
endfunction()
