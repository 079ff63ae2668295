[(function_item name: (identifier) @name) (function_signature_item name: (identifier) @name)] @function
[(struct_item name: (type_identifier) @name) (union_item name: (type_identifier) @name)] @struct
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(mod_item name: (identifier) @name body: (_)) @module
(macro_definition name: (identifier) @name) @macro
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @variable
(impl_item type: (_) @name) @container
